"""Shadow mode: beside another MultiKueue controller, reading only."""
