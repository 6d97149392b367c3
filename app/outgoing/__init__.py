"""Calls to other hosts: endpoints, webhooks, clusters. Checked, pinned and limited."""
