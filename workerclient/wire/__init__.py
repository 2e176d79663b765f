"""Bytes and objects: decoding, lines of a watch, TLS, clock skew, fencing."""
