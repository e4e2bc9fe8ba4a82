"""What tests of several parts share: plausible profiles and spool files with known numbers."""
