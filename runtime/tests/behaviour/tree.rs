//! A tree of joins, for whoever wants many of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parkade::{Backend, Policy, RuntimeOn, Tag};

/// A join tree so deep, and unrelated spawns out of its leaves, on small stacks: leaves and strangers are counted.
/// `goes_on` is called where a stranger is spawned.
pub(crate) fn tree_among_strangers<B: Backend>(
    depth: u32,
    strangers: usize,
    goes_on: &(dyn Fn() + Sync),
) {
    struct Tree<'t, B: Backend> {
        runtime: &'t RuntimeOn<B>,
        leaves: AtomicUsize,
        strangers: Arc<AtomicUsize>,
        every: usize,
        goes_on: &'t (dyn Fn() + Sync),
    }
    fn grow<B: Backend>(tree: &Tree<'_, B>, depth: u32) {
        if depth > 0 {
            parkade::join(|| grow(tree, depth - 1), || grow(tree, depth - 1));
            return;
        }
        let leaf = tree.leaves.fetch_add(1, Ordering::Relaxed);
        if leaf.is_multiple_of(tree.every) {
            let strangers = Arc::clone(&tree.strangers);
            let stranger = move || {
                strangers.fetch_add(1, Ordering::Relaxed);
            };
            tree.runtime.spawn_detached(stranger).unwrap();
            (tree.goes_on)();
        }
    }
    let tag = Tag::new("only").workers(4);
    let builder = RuntimeOn::builder().tag(tag).stack_size(256 * 1024);
    let runtime: RuntimeOn<B> = builder.build().unwrap();
    let leaves = 1_usize << depth;
    let tree = Tree {
        runtime: &runtime,
        leaves: AtomicUsize::new(0),
        strangers: Arc::default(),
        every: leaves / strangers,
        goes_on,
    };
    runtime.join(|| grow(&tree, depth), || ());
    assert_eq!(tree.leaves.load(Ordering::Relaxed), leaves);
    let spawned = leaves.div_ceil(tree.every);
    let strangers = Arc::clone(&tree.strangers);
    let report = runtime.shutdown(Policy::Drain, None).unwrap();
    assert_eq!(strangers.load(Ordering::Relaxed), spawned);
    assert_eq!(report.ran, runtime.metrics().total.spawned);
}
