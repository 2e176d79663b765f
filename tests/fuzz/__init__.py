"""Raw HTTP answers of every shape, against the real client of a worker."""
