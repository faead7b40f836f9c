"""Bridges to other engines: models, orders, signs and quaternions. Imported only when used."""
