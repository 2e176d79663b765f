"""Forecasts of one worker from what its watches say, and how a forecast is held against what happened."""
