"""Bytes and objects: exchanges, decoding, lines of a watch, TLS, clock skew."""
