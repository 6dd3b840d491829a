//! A memory ceiling that the kernel enforces, page cache included: a memory control group, prepared by whoever runs this
//! (`scripts/benchmark-flash-index` does), which the process joins before it makes its store.

use std::path::PathBuf;

fn group() -> Option<PathBuf> {
    std::env::var_os("SPRINGBLOOM_MEMORY_CGROUP").map(PathBuf::from)
}

fn number(names: [&str; 2]) -> Option<u64> {
    let text = names.iter().find_map(|name| std::fs::read_to_string(group()?.join(name)).ok())?;
    text.trim().parse().ok()
}

/// Joins the group and returns its limit in bytes; `None`, and a line that says so, if there is none.
pub(crate) fn join() -> Option<u64> {
    let limit = number(["memory.limit_in_bytes", "memory.max"]);
    match (group(), limit) {
        (Some(group), Some(_)) => {
            let joined = std::fs::write(group.join("cgroup.procs"), std::process::id().to_string());
            joined.expect("joining the memory control group");
        }
        _ => println!("no memory ceiling: SPRINGBLOOM_MEMORY_CGROUP names no group with a limit"),
    }
    limit
}

/// Bytes that the group takes now.
pub(crate) fn used() -> Option<u64> {
    number(["memory.usage_in_bytes", "memory.current"])
}
