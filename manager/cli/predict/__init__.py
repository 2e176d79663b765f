"""`turnstile predict` and `turnstile predict-pods`: what one scheduling cycle would do."""
