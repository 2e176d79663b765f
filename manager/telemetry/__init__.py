"""What the daemon tells the world about itself: metrics and traces."""
