import PushCore

/// The rows of the delivery log, and how they are kept within bounds.
final class DeliveryTable {
    private let database: Database
    private let insert: Statement
    private let update: Statement
    private let delete: Statement
    private let one: Statement
    private let find: Statement
    private let count: Statement
    private let deleteOldest: Statement
    private let deleteBefore: Statement
    private let keep: Interval
    private let rowLimit: Int
    private(set) var rows: Int
    /// The place of the newest row.
    private var last: Int64
    /// The latest time any event had. The log reads no clock: with a test's clock it forgets on time as well.
    private var now = Moment(nanoseconds: .min)

    /// Rows looked at for their age in one flush, which is twice what comes in at 20,000 a second.
    private static let agingLimit: Int64 = 20_000

    init(_ database: Database, keep: Interval, rowLimit: Int) throws(StoreError) {
        _ = try DeliverySQL.schema.prepare(database)
        self.database = database
        self.keep = keep
        self.rowLimit = rowLimit
        insert = try Statement(database, DeliverySQL.insert)
        update = try Statement(database, DeliverySQL.update)
        delete = try Statement(database, DeliverySQL.delete)
        one = try Statement(database, DeliverySQL.one)
        find = try Statement(database, DeliverySQL.find)
        count = try Statement(database, DeliverySQL.count)
        deleteOldest = try Statement(database, DeliverySQL.deleteOldest)
        deleteBefore = try Statement(database, DeliverySQL.deleteBefore)
        rows = Int(try database.number(DeliverySQL.rows))
        last = try database.number(DeliverySQL.last)
    }

    /// Writes events in one transaction. Each group is what happened to one push, in order.
    func write(_ groups: [ArraySlice<DeliveryEvent>]) throws(StoreError) {
        let (rowsBefore, lastBefore) = (rows, last)
        do {
            try database.transaction { () throws(StoreError) in
                for group in groups { try write(group) }
                try prune()
                try count.bind(1, Int64(rows))
                try count.run()
            }
        } catch {
            (rows, last) = (rowsBefore, lastBefore)
            throw error
        }
    }

    /// The record of one push; nil if the log does not have it.
    func record(_ number: UInt64) throws(StoreError) -> DeliveryRecord? {
        try one.bind(1, number)
        defer { one.reset() }
        return try one.step() ? record(one) : nil
    }

    func find(_ query: DeliveryQuery) throws(StoreError) -> [DeliveryRecord] {
        let uniqueID = query.uniqueID.flatMap(uniqueIDBytes)
        // What is no unique id is nobody's.
        guard (uniqueID == nil) == (query.uniqueID == nil) else { return [] }
        defer { find.reset() }
        try find.bind(1, query.after.map { Int64(bitPattern: $0) })
        try find.bindOptional(2, uniqueID)
        try find.bind(3, query.registration.map { Int64(bitPattern: $0) })
        try find.bind(4, query.state.map { Int64(DeliveryCode.number($0)) })
        try find.bindOptional(5, query.apnsID)
        try find.bindOptional(6, query.topic)
        try find.bind(7, Int64(max(0, query.limit)))
        var records: [DeliveryRecord] = []
        while try find.step() { records.append(try record(find)) }
        return records
    }

    /// Gives a part of what was freed back to the system.
    func maintain() throws(StoreError) { _ = try database.vacuumPart() }

    private func write(_ group: ArraySlice<DeliveryEvent>) throws(StoreError) {
        guard let latest = group.last else { return }
        now = max(now, latest.at)
        var changes: [UInt8] = []
        for event in group { DeliveryCode.append(event, to: &changes) }
        // Without the push it is one that the log has, or has forgotten.
        guard let first = group.first(where: { $0.push != nil }), let push = first.push else {
            return try update(latest, changes)
        }
        if try insert(push, first, latest, changes) { return }
        // The number belongs to another push: the store was started anew beside an old log.
        try delete.bind(1, push.number)
        try delete.run()
        rows -= 1
        _ = try insert(push, first, latest, changes)
    }

    private func update(_ event: DeliveryEvent, _ changes: [UInt8]) throws(StoreError) {
        try update.bind(1, event.number)
        try update.bind(2, Int64(DeliveryCode.number(event.state)))
        try update.bind(3, Int64(DeliveryCode.number(event.cause)))
        try update.bind(4, changes)
        try update.run()
    }

    /// False if the row is another push's.
    private func insert(
        _ push: Push,
        _ first: DeliveryEvent,
        _ latest: DeliveryEvent,
        _ changes: [UInt8]
    ) throws(StoreError) -> Bool {
        try insert.bind(1, last + 1)
        try insert.bind(2, push.number)
        try insert.bind(3, push.registration)
        try insert.bind(4, Int64(DeliveryCode.number(latest.state)))
        try insert.bind(5, Int64(DeliveryCode.number(latest.cause)))
        try insert.bind(6, push.uniqueID.bytes.span)
        try insert.bind(7, text: push.apnsID.characters.span)
        try insert.bind(8, first.topic ?? "")
        try insert.bind(9, first.tokenPrefix ?? "")
        try insert.bind(10, first.device.map { Int64(bitPattern: $0.value) })
        try insert.bind(11, Int64(push.type?.code ?? 0))
        try insert.bind(12, Int64(push.priority.rawValue))
        try insert.bind(13, push.expires.nanoseconds)
        try insert.bind(14, push.acceptedAt.nanoseconds)
        try insert.bind(15, Int64(push.content.payloadCount))
        try insert.bind(16, Array(push.content.collapseID))
        try insert.bind(17, changes)
        database.lastInserted = 0
        try insert.run()
        guard database.lastInserted != 0 else { return database.changes > 0 }
        rows += 1
        last += 1
        return true
    }

    private func prune() throws(StoreError) {
        if rows > rowLimit {
            try deleteOldest.bind(1, Int64(rows - rowLimit))
            try deleteOldest.run()
            rows -= database.changes
        }
        let cutoff = now.nanoseconds.subtractingReportingOverflow(keep.nanoseconds)
        guard rows > 0, !cutoff.overflow, try database.number(DeliverySQL.oldest) < cutoff.partialValue else { return }
        try deleteBefore.bind(1, Self.agingLimit)
        try deleteBefore.bind(2, cutoff.partialValue)
        try deleteBefore.run()
        rows -= database.changes
    }

    private func record(_ row: Statement) throws(StoreError) -> DeliveryRecord {
        guard let changes = DeliveryCode.changes(row.bytes(15)), let latest = changes.last,
            let uniqueID = UniqueID(row.bytes(4).span)
        else {
            throw StoreError(.damaged, "row \(row.text(0)) of deliveries makes no sense", file: database.file)
        }
        let collapseID = row.bytes(14)
        let expires = Moment(nanoseconds: row.number(11))
        return DeliveryRecord(
            number: row.unsigned(0),
            apnsID: row.text(5),
            uniqueID: uniqueID.description,
            registration: row.unsigned(1),
            tokenPrefix: row.text(7),
            device: row.isNull(8) ? nil : DeviceID(row.unsigned(8)).description,
            topic: row.text(6),
            pushType: PushType(code: UInt8(clamping: row.number(9)))?.rawValue,
            priority: Int(row.number(10)),
            expiration: expires == .distantFuture ? nil : expires.seconds,
            collapseID: collapseID.isEmpty ? nil : String(decoding: collapseID, as: UTF8.self),
            size: Int(row.number(13)),
            acceptedAt: Moment(nanoseconds: row.number(12)),
            state: latest.state,
            cause: latest.cause,
            changes: changes
        )
    }
}

/// The 16 bytes of a unique id; nil for anything else.
func uniqueIDBytes(_ text: String) -> [UInt8]? {
    let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }.map(hexValue)
    guard digits.count == 32 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: 32, by: 2) {
        guard let high = digits[index], let low = digits[index + 1] else { return nil }
        bytes.append(high << 4 | low)
    }
    return bytes
}
