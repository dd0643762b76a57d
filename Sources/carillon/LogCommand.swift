import JSON
import PushCore

/// `carillon log`: what became of pushes.
enum LogCommand {
    static let command = Command(
        name: "log",
        summary: "what became of each push, as far as log.deliveries records it",
        options: filters.map(\.option) + [.flag("follow", "show the latest, then what happens from now on")]
            + CommandOption.adminAccess,
        example: "carillon log --topic com.example.demo --follow",
        run: run
    )

    /// An option and the filter of the admin API it stands for.
    private static let filters: [(option: CommandOption, field: String)] = [
        (.value("apns-id", "I", "only the push with this apns-id"), "apnsID"),
        (.value("unique-id", "U", "only the push with this apns-unique-id"), "uniqueID"),
        (.value("token", "D", "only pushes to this device token"), "token"),
        (.value("topic", "X", "only pushes to this topic"), "topic"),
        (.value("state", "S", "only pushes in this state, such as delivered or discarded-expired"), "state"),
    ]

    private static func run(_ invocation: Invocation) throws(CommandError) -> Outcome {
        _ = try invocation.choice("state", of: DeliveryState.allCases.map(\.rawValue))
        let gateway = try AdminGateway(invocation)
        let query = filters.compactMap { filter in
            invocation.value(filter.option.name).map { (name: filter.field, value: $0) }
        }
        let json = invocation.wantsJSON
        if !json { Output.line(heading) }
        guard invocation.has("follow") else {
            try gateway.items("/v1/notifications", query: query) { Output.line(line($0, json: json)) }
            return .done
        }
        let recent = try gateway.parse(gateway.request("GET", "/v1/notifications", query: query))
        for item in (recent["items"]?.array ?? []).reversed() { Output.line(line(item, json: json)) }
        try gateway.stream("/v1/notifications", query: query + [("follow", "true")]) { eventLine in
            if let item = event(eventLine) { Output.line(line(item, json: json)) }
            return true
        }
        return .done
    }

    /// The notification in a line of the event stream; nil for its other lines.
    static func event(_ line: String) -> JSONValue? {
        guard line.hasPrefix("data:") else { return nil }
        let data = Array(line.dropFirst("data:".count).utf8)
        // What is no JSON is no notification: a comment that keeps the stream alive, or a newer gateway's.
        return try? JSONValue(parsing: data.span)
    }

    private static let columns: [(heading: String, field: String, width: Int)] = [
        ("ACCEPTED", "acceptedAt", 26), ("STATE", "state", 24), ("CAUSE", "cause", 14), ("TOPIC", "topic", 28),
        ("TOKEN", "tokenPrefix", 10), ("APNS-ID", "apnsID", 36),
    ]

    private static var heading: String {
        trimmedEnd(columns.map { padded($0.heading, to: $0.width) }.joined())
    }

    private static func line(_ item: JSONValue, json: Bool) -> String {
        if json { return String(decoding: item.encoded, as: UTF8.self) }
        return trimmedEnd(columns.map { padded(item[$0.field].flatMap(text) ?? "-", to: $0.width) }.joined())
    }
}

/// `text` without the blanks at its end.
func trimmedEnd(_ text: String) -> String {
    String(text.reversed().drop { $0 == " " }.reversed())
}
