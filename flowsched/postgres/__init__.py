"""Django's PostgreSQL backend with two additions: session timeouts, and a server of our own where none is configured.

A machine without a database must be able to run the product after one command, so with `DATABASE_URL` unset the first
connection that finds no server makes one (`server.ensure`) and tries again. There is no start command to forget and
nothing starts before something really connects. With `DATABASE_URL` set only the timeouts remain.

`location` computes where things lie, `binaries` finds PostgreSQL's programs, `account` says who runs them, `server`
starts, stops and inspects, `base` is what Django loads.
"""
