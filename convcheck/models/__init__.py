"""Find the conversions in models, and judge what is known of them."""
