"""What the service says about itself: log lines on stderr, one id a request."""
