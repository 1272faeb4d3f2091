"""Charts as shapes: pure modules that turn data into coordinates, and templates that draw them as inline SVG."""
