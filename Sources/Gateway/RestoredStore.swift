import Storage

/// What a store holds that a backup brought back.
package struct RestoredStore: Sendable {
    /// Of its tables' form; an older one is brought to ours by the first start.
    package let version: Int
    /// Pushes that wait.
    package let pushes: Int
    /// Devices, those included that were removed.
    package let devices: Int

    /// Reads a store that no gateway uses yet from end to end. One that is damaged, or that this program does not know,
    /// is refused with what to do.
    package init(path: String) throws(StartError) {
        do throws(StoreError) {
            let facts = try inspectStore(path)
            (version, pushes, devices) = (facts.version, facts.pushes, facts.devices)
        } catch {
            throw StartError(error.startDescription)
        }
    }
}
