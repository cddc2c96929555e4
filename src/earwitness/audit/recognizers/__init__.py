"""Recognizers: what a protected value looks like to somebody who knows no value. One kind a module.

A new kind is one module beside this file with a `RECOGNIZER`, and one table of examples with its name in
`tests/golden/recognizers`; no list has to be edited. What several of them share stands in modules without one.
"""
