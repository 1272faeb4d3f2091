"""The gRPC door: the wire of v1.Flow over the services that every door shares."""
