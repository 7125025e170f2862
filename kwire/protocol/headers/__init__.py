"""Headers of requests and responses, and the apis and versions in them."""
