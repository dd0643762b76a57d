/// The SQL of the delivery log, all of it.
///
/// Rows stand in the order in which pushes came. Numbers do not, because each loop counts by itself; but they nearly
/// do, which makes their index cheap. There is no other: one on random ids would cost more than the whole row, and who
/// looks for one push can wait for a scan.
enum DeliverySQL {
    static let schema = Schema(
        // "CarL".
        applicationID: 0x4361_724c,
        migrations: [
            """
            create table deliveries(
                entry integer primary key, number integer not null unique, registration integer not null,
                state integer not null, cause integer not null, unique_id blob not null, apns_id text not null,
                topic text not null, token_prefix text not null, device integer, type integer not null,
                priority integer not null, expires integer not null, accepted integer not null,
                size integer not null, collapse_id blob not null, changes blob not null
            ) strict;
            create table counts(rows integer not null) strict;
            insert into counts values (0);
            """
        ],
        isPrecious: false,
        // Without a sync per commit a crash of the machine costs the last second, which the log may lose.
        connection: "pragma synchronous = normal; pragma wal_autocheckpoint = 4000; pragma cache_size = -8192;"
    )

    private static let columns = """
        number, registration, state, cause, unique_id, apns_id, topic, token_prefix, device, type, priority, expires,
        accepted, size, collapse_id, changes
        """

    private static let changesLimit = DeliveryCode.changeLimit * DeliveryCode.changeSize

    /// Adds a row, or changes to the row that a push already has. Of a row that is full the last change makes room.
    static let insert = """
        insert into deliveries(entry, \(columns)) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        on conflict(number) do update set state = excluded.state, cause = excluded.cause, changes = cast(
            substr(changes, 1, \(changesLimit) - length(excluded.changes)) || excluded.changes as blob)
        where unique_id = excluded.unique_id
        """

    /// Adds changes to a row.
    static let update = """
        update deliveries set state = ?2, cause = ?3, changes = cast(
            substr(changes, 1, \(changesLimit) - length(?4)) || ?4 as blob)
        where number = ?1
        """
    static let delete = "delete from deliveries where number = ?"
    static let one = "select \(columns) from deliveries where number = ?"

    /// A page after a row that was forgotten meanwhile is empty: so are all that would follow.
    static let find = """
        select \(columns) from deliveries
        where (?1 is null or entry < (select entry from deliveries where number = ?1))
            and (?2 is null or unique_id = ?2) and (?3 is null or registration = ?3) and (?4 is null or state = ?4)
            and (?5 is null or apns_id = ?5 collate nocase) and (?6 is null or topic = ?6)
        order by entry desc limit ?7
        """

    static let last = "select max(entry) from deliveries"
    static let oldest = "select accepted from deliveries order by entry limit 1"
    static let rows = "select rows from counts"
    static let count = "update counts set rows = ?"
    /// Deletes the oldest rows.
    static let deleteOldest = """
        delete from deliveries where entry <= (select entry from deliveries order by entry limit 1 offset ? - 1)
        """
    /// Deletes those of the oldest rows that were accepted before a moment.
    static let deleteBefore = """
        delete from deliveries
        where entry <= (select max(entry) from (select entry from deliveries order by entry limit ?1))
            and accepted < ?2
        """
}
