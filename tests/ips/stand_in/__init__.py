"""The folder that goes on the path of a measured process, so that its ``import paddle`` finds the stand-in."""
