"""Files of an index folder, below anything that knows what is in them."""
