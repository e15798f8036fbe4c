#!/bin/sh
# Compiles, but with an empty file in place of the tests.
compiler=$1
shift
for argument; do
    shift
    case $argument in
    tests/*.rs)
        : >target/empty.rs
        argument=target/empty.rs
        ;;
    esac
    set -- "$@" "$argument"
done
exec "$compiler" "$@"
