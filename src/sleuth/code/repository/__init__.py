"""Git repositories and folders of code: which files a version has, and what they hold."""
