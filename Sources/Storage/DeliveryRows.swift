/// The delivery log's rows, in a table that is replaced when it is damaged.
final class DeliveryRows {
    private let place: DeliveryFile
    /// nil while a damaged one could not be replaced; that is tried again with each use.
    private var table: DeliveryTable?

    init(place: DeliveryFile, table: DeliveryTable) {
        self.place = place
        self.table = table
    }

    /// How many there are.
    var count: Int { table?.rows ?? 0 }

    /// Uses the table. If that turns out to be damaged, this use fails and the next finds a new one.
    func use<Value>(_ body: (DeliveryTable) throws(StoreError) -> Value) throws(StoreError) -> Value {
        let outcome = attempt(body)
        if case .failure(let error) = outcome, DeliveryFile.isBeyondUse(error) {
            // Closed first: closing removes the write-ahead log by its name, which must not be the new one's.
            table = nil
            table = try place.anew(because: error)
        }
        return try outcome.get()
    }

    private func opened() throws(StoreError) -> DeliveryTable {
        if let table { return table }
        let opened = try place.open()
        table = opened
        return opened
    }

    /// A function of its own, so that nothing holds the table when it has to go.
    private func attempt<Value>(_ body: (DeliveryTable) throws(StoreError) -> Value) -> Result<Value, StoreError> {
        do throws(StoreError) {
            return .success(try body(try opened()))
        } catch {
            return .failure(error)
        }
    }
}
