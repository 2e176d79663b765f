"""Reading raw Kueue objects: conversion, validation, and the small values the engine keeps of them."""
