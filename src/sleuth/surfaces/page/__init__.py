"""The web page of the server: questions, results, sources and answers, rendered here and readable without script."""
