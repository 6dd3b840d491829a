//! `springbloom report`: a page of what was measured. All of it is in `bench/evidence`.

pub(crate) use springbloom_evidence::Report;
