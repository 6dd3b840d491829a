//! `springbloom compare`: one workload on one tree under many filters. All of it is in `bench/compare`.

pub(crate) use springbloom_compare::Compare;
