; inherits: html
