import Admin

/// Who is turned away from the admin port before any token is looked at: requests that a web page makes a browser send.
///
/// A page whose name was made to lead to this machine (DNS rebinding) shows by `Host`, a page of another origin by
/// `Origin` and `Sec-Fetch-Site`.
struct AdminDoor: Sendable {
    private let host: String
    private let isLoopbackOnly: Bool

    init(_ config: Config) {
        host = config.adminHost.lowercased()
        isLoopbackOnly = isLoopback(config.adminHost)
    }

    /// `certificateNames` are those that the server's certificate is for.
    func check(_ request: AdminRequest, certificateNames: [String]) throws(AdminFailure) {
        try checkHost(request, certificateNames)
        try checkOrigin(request)
    }

    /// HTTP/1.0 knows no `Host`, and no browser speaks it; later versions never come here without one.
    private func checkHost(_ request: AdminRequest, _ names: [String]) throws(AdminFailure) {
        guard let header = request.host else { return }
        if let name = hostName(of: header), isOurs(name, names) { return }
        throw .misdirected(
            "'\(header.excerpt)' is no name of this gateway: call it localhost, 127.0.0.1, [::1], "
                + "by admin.host, or by a name of the server's certificate (carillon init --host NAME)"
        )
    }

    private func isOurs(_ name: HostName, _ certificateNames: [String]) -> Bool {
        if ["localhost", "127.0.0.1", "::1", host].contains(name.text) { return true }
        // Nobody can make a browser believe that an address is a name of his. A listener on loopback has few.
        if name.isAddress && !isLoopbackOnly { return true }
        return certificateNames.contains { covers($0.lowercased(), name.text) }
    }

    private func checkOrigin(_ request: AdminRequest) throws(AdminFailure) {
        if let site = request.fetchSite, site != "same-origin" && site != "none" {
            throw .forbidden(
                "a page of another origin may not call the admin API (Sec-Fetch-Site: \(site.excerpt))"
            )
        }
        guard let origin = request.origin else { return }
        let parts = origin.lowercased().split(separator: "://", maxSplits: 1)
        guard parts.count == 2, let host = request.host, parts[1] == host.lowercased() else {
            throw .forbidden("a page of another origin may not call the admin API (Origin: \(origin.excerpt))")
        }
    }
}

/// The name in a `Host` header.
private struct HostName {
    /// In small letters, without a port or brackets.
    let text: String
    let isAddress: Bool
}

/// What `Host` names, or nil when it names nothing: `name`, `name:port`, `[address]` or `[address]:port`.
private func hostName(of header: String) -> HostName? {
    let text = header.lowercased()
    let isBracketed = text.hasPrefix("[")
    let name: Substring
    var rest: Substring
    if isBracketed {
        guard let end = text.firstIndex(of: "]") else { return nil }
        name = text[text.index(after: text.startIndex)..<end]
        rest = text[text.index(after: end)...]
    } else {
        name = text.prefix { $0 != ":" }
        rest = text[name.endIndex...]
    }
    if rest.popFirst() != nil {
        guard text[..<rest.startIndex].hasSuffix(":"), UInt16(rest) != nil else { return nil }
    }
    let isAddress = isBracketed || name.allSatisfy { $0 == "." || $0.isASCII && $0.isNumber }
    return HostName(text: String(name), isAddress: isAddress)
}

/// Whether a certificate's name, which may begin with `*.` for any one label, is for this host.
private func covers(_ name: String, _ host: String) -> Bool {
    guard name.hasPrefix("*.") else { return name == host }
    return host.drop { $0 != "." } == name.dropFirst() && !host.hasPrefix(".")
}
