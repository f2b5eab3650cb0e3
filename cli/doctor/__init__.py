"""`barnabas doctor`: what stands between a client and its cluster, or between this machine and a broker."""
