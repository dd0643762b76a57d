import JSON

/// What every `... list` does: pages through a list of the admin API, or passes a page on as JSON.
struct ListCommand {
    /// Under the admin API's root.
    let path: String
    /// A heading and the field below it, in order.
    let columns: [(heading: String, field: String)]

    func run(
        _ invocation: Invocation,
        query: [(name: String, value: String)] = []
    ) throws(CommandError) -> Outcome {
        let gateway = try AdminGateway(invocation)
        if invocation.wantsJSON {
            Output.json(try gateway.request("GET", path, query: query + [("limit", "1000")]))
            return .done
        }
        let rows = try gateway.items(path, query: query).map { item in
            columns.map { item[$0.field].flatMap(text) ?? "-" }
        }
        Output.table(columns.map(\.heading), rows)
        return .done
    }
}

/// What every `... remove` and `... revoke` does.
func delete(_ path: String, _ invocation: Invocation, done: String) throws(CommandError) -> Outcome {
    let body = try AdminGateway(invocation).request("DELETE", path)
    if invocation.wantsJSON {
        if !body.isEmpty { Output.json(body) }
    } else {
        Output.line(done)
    }
    return .done
}

/// The members of an object, one per line.
func lines(of value: JSONValue) -> [String] {
    let members = value.object ?? []
    let width = members.map(\.0.count).max() ?? 0
    return members.map { "\(padded($0.0, to: width + 2))\(text($0.1) ?? "-")" }
}
