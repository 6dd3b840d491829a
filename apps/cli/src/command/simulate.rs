//! `springbloom simulate`: wasted reads by memory on modelled trees. All of it is in `bench/simulator`.

pub(crate) use springbloom_simulator::command::Simulate;
