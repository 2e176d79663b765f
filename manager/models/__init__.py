"""The models of workers' queues and nodes that forecasts are made from, kept up to date by watches."""
