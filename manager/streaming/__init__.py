"""What changes, for viewers that stay connected: rows made once for all of them, and the streams that carry them."""
