"""What every module of kwire may use: caches, locks at forks, lazy patterns, functions of upper layers."""
