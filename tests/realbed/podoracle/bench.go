package main

func bench(sc *scenario, repetitions int) (any, error) { return nil, nil }
