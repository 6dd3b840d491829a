//! Filters that were built before a fork, as by a daemon: the child has none of their threads, and right answers. In a process of
//! its own, because a child has no thread of RocksDB either, if its parent had opened a database.

use std::time::Duration;

use rocksdb::DB;

use crate::common::{
    ample,
    contents::{check_db, fill_db},
    folder, has_passed_alone, installed, small_tree,
    unsafe_calls::in_a_forked_child,
};

#[test]
fn a_forked_child_has_right_answers_and_ends() {
    if has_passed_alone(a_forked_child_has_right_answers_and_ends, &[]) {
        return;
    }
    let (folder, elastic) = (folder(), ample());
    let options = installed(&elastic, &small_tree());
    let mut elastic = Some(elastic);
    let mut options = Some(options);
    let status = in_a_forked_child(|| {
        let (elastic, options) = (elastic.take().expect("ours"), options.take().expect("ours"));
        let db = DB::open(&options, folder.path()).expect("open");
        fill_db(&db, "forked");
        check_db(&db, "forked");
        assert!(
            !elastic.wait_idle(Duration::from_millis(10)),
            "the child has a thread: say so in docs/guide.md"
        );
        elastic.set_budget_bytes(0).expect("a sound budget");
        check_db(&db, "forked");
        drop((options, elastic));
        // The last reference to the filters goes with the database.
        drop(db);
    });
    assert_eq!(status, 0, "a signal in the low byte, or the exit code above it");
}
