package import PushCore

/// A synchronous engine that keeps what must survive. One thread uses it at a time.
///
/// It knows registrations, queued pushes and acknowledgements, not rows, so that it may also be another machine.
package protocol MessageStore: AnyObject {
    /// Reads everything, once, before the first commit.
    func load(at now: Moment) throws(StoreError) -> StoreSnapshot

    /// The payloads of pushes, by number, in that order; nil for one that is not stored, or damaged.
    func payloads(_ numbers: [UInt64]) throws(StoreError) -> [[UInt8]?]

    /// Makes all of `changes` durable, in order, or none. No changes at all still write something: that is how a
    /// store that failed is probed.
    func commit(_ changes: [StoreChange]) throws(StoreError)

    /// Throws if what is written now would not be found again. Called each second, also when nothing is written.
    func check() throws(StoreError)

    /// Does a bounded piece of the work that can wait for an idle moment. True when there is more.
    @discardableResult
    func maintain(at now: Moment) throws(StoreError) -> Bool

    /// Gives everything up; what follows throws.
    func close()
}

extension MessageStore {
    /// Nothing to look at.
    package func check() throws(StoreError) {}
}
