"""Makes test collections from the documentation that packages carry."""
