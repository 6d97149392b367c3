"""The gateway to Kubernetes: credentials of EKS clusters, and the calls made with them."""
