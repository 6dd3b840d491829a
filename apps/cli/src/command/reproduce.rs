//! `springbloom reproduce`: the experiments of the papers. All of it is in `bench/evidence`.

pub(crate) use springbloom_evidence::Reproduce;
