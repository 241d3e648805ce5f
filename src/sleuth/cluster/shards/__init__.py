"""Documents spread over indexes by their ids, and rankings gathered from all of them."""
