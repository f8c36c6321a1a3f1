"""The raw logs of the Cloud Report's pilot runs of 2019."""
