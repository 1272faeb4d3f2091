"""Commands of the gRPC door."""
