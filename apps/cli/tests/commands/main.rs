//! The commands of the program, on databases that it made and on others.

mod advise;
mod advise_stock;
mod common;
mod compare;
mod databases;
mod explain;
mod families;
mod inspect;
mod operations;
mod reproduce;
mod simulate;
