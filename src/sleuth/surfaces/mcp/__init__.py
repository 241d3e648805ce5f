"""Sleuth as a server of the Model Context Protocol: six tools that read."""
