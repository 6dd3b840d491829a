//! RocksDB's own Bloom counters count our filters, and agree with the manager's.

use rocksdb::{
    DB,
    perf::{PerfContext, PerfMetric, PerfStatsLevel, set_perf_stats},
    statistics::Ticker,
};

use crate::common::{
    IDLE_TIMEOUT, ample,
    contents::{NUMBERS, check_db, fill_db, is_present, key},
    folder, installed, small_tree,
};

#[test]
fn tickers_and_perf_counters_agree_with_the_manager() {
    let (folder, elastic) = (folder(), ample());
    let mut options = small_tree();
    options.enable_statistics();
    let options = installed(&elastic, &options);
    let db = DB::open(&options, folder.path()).expect("open");
    fill_db(&db, "counted");
    db.wait_for_compact(&rocksdb::WaitForCompactOptions::default()).expect("compaction");
    assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");

    let tickers = || {
        [Ticker::BloomFilterUseful, Ticker::BloomFilterFullPositive, Ticker::BloomFilterFullTruePositive]
            .map(|ticker| options.get_ticker_count(ticker))
    };
    let [mut batched, mut single] = [false, false];
    for batch in [1, 40] {
        let (before, outcomes_before) = (tickers(), elastic.stats().outcomes);
        set_perf_stats(PerfStatsLevel::EnableCount);
        let mut perf = PerfContext::default();
        perf.reset();
        if batch == 1 {
            check_db(&db, "counted");
            single = true;
        } else {
            let numbers: Vec<u32> = (0..NUMBERS).collect();
            for numbers in numbers.chunks(batch) {
                for (number, got) in
                    numbers.iter().zip(db.multi_get(numbers.iter().map(|&number| key(number))))
                {
                    assert_eq!(got.expect("multi_get").is_some(), is_present(*number));
                }
            }
            batched = true;
        }
        let (passed, rejected) =
            (perf.metric(PerfMetric::BloomSstHitCount), perf.metric(PerfMetric::BloomSstMissCount));
        set_perf_stats(PerfStatsLevel::Disable);
        let after = tickers();
        let [useful, positive, true_positive] = [0, 1, 2].map(|ticker| after[ticker] - before[ticker]);
        let outcomes = elastic.stats().outcomes;

        assert!(useful >= u64::from(NUMBERS) / 3, "batch {batch}: {useful} lookups were rejected");
        assert_eq!(useful, outcomes.rejected - outcomes_before.rejected, "batch {batch}");
        assert_eq!(true_positive, outcomes.true_positives - outcomes_before.true_positives, "batch {batch}");
        assert_eq!(
            positive - true_positive,
            outcomes.wasted_reads - outcomes_before.wasted_reads,
            "batch {batch}: what passed was there or was a wasted read"
        );
        // Each even number lies in one table that is reached.
        assert_eq!(true_positive, u64::from(NUMBERS) / 2, "batch {batch}");
        assert_eq!((rejected, passed), (useful, positive), "batch {batch}: perf context");
    }
    assert!(single && batched);
}
