"""Bodies in Kubernetes' protobuf encoding, turned into the objects that their JSON encoding would have given."""
