#!lua name=x
